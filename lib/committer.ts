import type { Rule } from "aws-cdk-lib/aws-events";
import { Construct } from "constructs";
import { committerRun } from "../src/settings.ts";
import type { CaptureIntake } from "./capture-intake.ts";
import { EngineFunction, type FunctionCommons } from "./engine-function.ts";
import type { LakeTable } from "./lake-table.ts";
import type { ManifestQueue } from "./manifest-queue.ts";
import { everyMinutes } from "./settings/schedule.ts";

/** What the committer works on. */
export interface CommitterProps extends FunctionCommons {
  readonly intake: CaptureIntake;
  readonly table: LakeTable;
  readonly manifests: ManifestQueue;
  /** MB: processor time comes in proportion. */
  readonly memory: number;
  /** Whether one at once is enforced. Several are exactly once too, but take turns at conflicts. */
  readonly reserve: boolean;
  /** Whether it deletes captures whose rows it has committed. */
  readonly deleteCaptures: boolean;
}

/**
 * Manifests become versions of the table, many at once. It runs by a schedule and drains the queue itself: a queue that
 * triggers a function limited to one instance throttles its own pollers, and messages reach the dead letter queue unread.
 */
export class Committer extends Construct {
  readonly function: EngineFunction["function"];
  readonly schedule: Rule;

  constructor(scope: Construct, id: string, props: CommitterProps) {
    super(scope, id);
    const { intake, table, manifests } = props;
    const engine = new EngineFunction(this, "Engine", {
      ...props,
      name: "committer",
      description: "manifests of the queue become versions of the table",
      timeoutSeconds: committerRun.timeoutSeconds,
      ...(props.reserve ? { reservedConcurrency: 1 } : {}),
    });
    this.function = engine.function;
    manifests.grantDrain(engine.role);
    manifests.grantSend(engine.role, manifests.deadLetters);
    table.grantCommit(engine.role);
    // Before a source is sent back its capture must still be there.
    intake.grantRead(engine.role);
    intake.grantSend(engine.role, intake.queue);
    if (props.deleteCaptures) intake.grantDelete(engine.role);
    this.schedule = everyMinutes(this, 1, this.function);
  }
}
