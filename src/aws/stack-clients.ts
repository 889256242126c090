import { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { LambdaClient } from "@aws-sdk/client-lambda";
import type { ClientSettings } from "./clients.ts";

/** Clients of the services that a stack is made of: for the command line only, no function calls them. */
export interface StackClients {
  readonly cloudformation: CloudFormationClient;
  readonly lambda: LambdaClient;
  readonly eventbridge: EventBridgeClient;
}

/** How AWS is reached: by default as the environment says. */
export interface StackClientSettings extends Omit<ClientSettings, "endpoints"> {
  /** A server other than AWS's own, for all three. */
  readonly endpoint?: string;
}

/** Makes the clients that look at a stack and switch its functions. */
export function createStackClients(settings: StackClientSettings): StackClients {
  return {
    cloudformation: new CloudFormationClient(settings),
    lambda: new LambdaClient(settings),
    eventbridge: new EventBridgeClient(settings),
  };
}
