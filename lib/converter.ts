import { Duration } from "aws-cdk-lib";
import { EventSourceMapping } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import type { CaptureIntake } from "./capture-intake.ts";
import { EngineFunction, type FunctionCommons } from "./engine-function.ts";
import type { LakeTable } from "./lake-table.ts";
import type { ManifestQueue } from "./manifest-queue.ts";

/** What the converter works on. */
export interface ConverterProps extends FunctionCommons {
  readonly intake: CaptureIntake;
  readonly table: LakeTable;
  readonly manifests: ManifestQueue;
  /** MB: processor time comes in proportion. */
  readonly memory: number;
  readonly timeoutSeconds: number;
  readonly batchSize: number;
  readonly batchWindowSeconds: number;
  /** Functions at once at most. */
  readonly concurrency: number;
}

/** Captures of the intake's queue become Parquet files in the table's folder, and one manifest for each batch. */
export class Converter extends Construct {
  readonly function: EngineFunction["function"];
  readonly eventSource: EventSourceMapping;

  constructor(scope: Construct, id: string, props: ConverterProps) {
    super(scope, id);
    const { intake, table, manifests } = props;
    const engine = new EngineFunction(this, "Engine", {
      ...props,
      name: "converter",
      description: "captures of the queue become Parquet files and a manifest",
    });
    this.function = engine.function;
    intake.grantConsume(engine.role);
    intake.grantRead(engine.role);
    intake.grantSend(engine.role, intake.deadLetters);
    table.grantConvert(engine.role);
    manifests.grantSend(engine.role, manifests.queue);
    this.eventSource = new EventSourceMapping(this, "Captures", {
      target: this.function,
      eventSourceArn: intake.queue.queueArn,
      batchSize: props.batchSize,
      maxBatchingWindow: Duration.seconds(props.batchWindowSeconds),
      maxConcurrency: props.concurrency,
      // The function names the messages that failed; the others are gone from the queue for good.
      reportBatchItemFailures: true,
    });
    // Lambda asks for the queue's rights when the mapping is made.
    this.eventSource.node.addDependency(engine.role);
  }
}
