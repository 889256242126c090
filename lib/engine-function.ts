import { existsSync } from "node:fs";
import { join } from "node:path";
import { Duration } from "aws-cdk-lib";
import { PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
} from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { type FunctionLogProps, functionLog } from "./function-log.ts";

/** What all functions have in common; a stack says it once. */
export interface FunctionCommons extends FunctionLogProps {
  /** Folder with `converter`, `committer` and `maintenance`, as `npm run build` makes it. */
  readonly assets: string;
  /** See `environmentOf` in src/settings.ts. */
  readonly environment: Readonly<Record<string, string>>;
}

/** One function's code, memory, time and environment. */
export interface EngineFunctionProps extends FunctionCommons {
  /** Folder of the function's assets. */
  readonly name: "converter" | "committer" | "maintenance";
  readonly description: string;
  readonly timeoutSeconds: number;
  /** MB. */
  readonly memory: number;
  /** Undefined: as many at once as the account has room for. */
  readonly reservedConcurrency?: number;
}

/** A function of the engine with a role of its own, that may write its own log and nothing else until it is granted more. */
export class EngineFunction extends Construct {
  readonly function: LambdaFunction;
  readonly role: Role;

  /** Throws an error for assets that are not built. */
  constructor(scope: Construct, id: string, props: EngineFunctionProps) {
    super(scope, id);
    const folder = join(props.assets, props.name);
    if (!existsSync(join(folder, "index.js")) && !existsSync(join(folder, "index.mjs")))
      throw new Error(`${folder} holds no index.js: run "npm run build" first`);
    const logGroup = functionLog(this, "Log", props);
    this.role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      description: `Deltacap: ${props.description}`,
    });
    // AWS's managed policy would allow it for every log of the account.
    this.role.addToPolicy(
      new PolicyStatement({
        actions: ["logs:CreateLogStream", "logs:PutLogEvents"],
        resources: [logGroup.logGroupArn],
      }),
    );
    this.function = new LambdaFunction(this, "Function", {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: "index.handler",
      code: Code.fromAsset(folder),
      role: this.role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      memorySize: props.memory,
      timeout: Duration.seconds(props.timeoutSeconds),
      environment: { ...props.environment },
      ...(props.reservedConcurrency === undefined
        ? {}
        : { reservedConcurrentExecutions: props.reservedConcurrency }),
    });
  }
}
