import type { Rule } from "aws-cdk-lib/aws-events";
import { Construct } from "constructs";
import { EngineFunction, type FunctionCommons } from "./engine-function.ts";
import type { LakeTable } from "./lake-table.ts";
import { everyMinutes } from "./settings/schedule.ts";

/** What maintenance works on, and when. */
export interface MaintenanceProps extends FunctionCommons {
  readonly table: LakeTable;
  /** MB: a checkpoint of a large table needs it. */
  readonly memory: number;
  /** Minutes between two runs. */
  readonly minutes: number;
  /** Whether small files are rewritten into large ones. */
  readonly optimize: boolean;
  /** Whether files that no version refers to are deleted. */
  readonly vacuum: boolean;
}

/** Seconds: Lambda's most. A checkpoint of a large table takes minutes, and nobody waits for it. */
const TIMEOUT_SECONDS = 900;

/** Checkpoints apart from the commits, so that a large table never slows them; optimize and vacuum where wanted. */
export class Maintenance extends Construct {
  readonly function: EngineFunction["function"];
  readonly schedule: Rule;

  constructor(scope: Construct, id: string, props: MaintenanceProps) {
    super(scope, id);
    const engine = new EngineFunction(this, "Engine", {
      ...props,
      name: "maintenance",
      description: "checkpoints of the table; small files and unused files where configured",
      timeoutSeconds: TIMEOUT_SECONDS,
    });
    this.function = engine.function;
    props.table.grantMaintain(engine.role, props);
    this.schedule = everyMinutes(this, props.minutes, this.function);
  }
}
