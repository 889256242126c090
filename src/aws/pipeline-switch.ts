import {
  DescribeRuleCommand,
  DisableRuleCommand,
  EnableRuleCommand,
  type EventBridgeClient,
} from "@aws-sdk/client-eventbridge";
import {
  GetEventSourceMappingCommand,
  type LambdaClient,
  UpdateEventSourceMappingCommand,
} from "@aws-sdk/client-lambda";
import { translated } from "@deltacap/delta/aws";

/** What switches the converter and the committer on and off. */
export interface PipelineSwitchOptions {
  readonly lambda: LambdaClient;
  readonly eventbridge: EventBridgeClient;
  /** UUID of the mapping that gives the capture queue's messages to the converter. */
  readonly eventSource: string;
  /** Name of the rule that calls the committer every minute. */
  readonly schedule: string;
}

/** `changing`: Lambda takes some seconds from one to the other. */
export type SwitchState = "on" | "off" | "changing";

/** What of the pipeline runs. */
export interface PipelineState {
  readonly converter: SwitchState;
  readonly committer: SwitchState;
}

/**
 * Stops the pipeline and lets it go on, without loss: captures wait in the capture queue, manifests in theirs, 14 days at most.
 * Invocations under way end by themselves. Methods throw `RetryableError` that names the permission where it is not granted.
 */
export class PipelineSwitch {
  readonly #options: PipelineSwitchOptions;

  constructor(options: PipelineSwitchOptions) {
    this.#options = options;
  }

  async state(): Promise<PipelineState> {
    const { lambda, eventbridge, eventSource, schedule } = this.#options;
    const [mapping, rule] = await Promise.all([
      asked("lambda:GetEventSourceMapping", eventSource, () =>
        lambda.send(new GetEventSourceMappingCommand({ UUID: eventSource })),
      ),
      asked("events:DescribeRule", schedule, () =>
        eventbridge.send(new DescribeRuleCommand({ Name: schedule })),
      ),
    ]);
    return {
      converter: mapping.State === "Enabled" ? "on" : mapping.State === "Disabled" ? "off" : "changing",
      committer: rule.State === "DISABLED" ? "off" : "on",
    };
  }

  /** Whether the converter is given messages. */
  async switchConverter(on: boolean): Promise<void> {
    const { lambda, eventSource } = this.#options;
    await asked("lambda:UpdateEventSourceMapping", eventSource, () =>
      lambda.send(new UpdateEventSourceMappingCommand({ UUID: eventSource, Enabled: on })),
    );
  }

  /** Whether the committer is called. */
  async switchCommitter(on: boolean): Promise<void> {
    const { eventbridge, schedule } = this.#options;
    const Name = schedule;
    if (on) {
      await asked("events:EnableRule", schedule, () => eventbridge.send(new EnableRuleCommand({ Name })));
    } else {
      await asked("events:DisableRule", schedule, () => eventbridge.send(new DisableRuleCommand({ Name })));
    }
  }
}

async function asked<Answer>(action: string, name: string, call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    throw translated(error, `${action} of ${name} failed`);
  }
}
