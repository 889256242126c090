// The client side of the Lambda Runtime API, as the Node.js runtime has it: fetches events, calls the handler, posts replies.
// Run as `node lambda-bootstrap.mjs MODULE` with AWS_LAMBDA_RUNTIME_API set.
import { pathToFileURL } from "node:url";

const api = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime`;

async function post(path, body) {
  await fetch(`${api}/${path}`, { method: "POST", body: JSON.stringify(body ?? null) });
}

const described = (error) => ({
  errorType: error?.name ?? "Error",
  errorMessage: error?.message ?? String(error),
});

let handler;
try {
  ({ handler } = await import(pathToFileURL(process.argv[2]).href));
} catch (error) {
  await post("init/error", described(error));
  process.exit(1);
}
for (;;) {
  const next = await fetch(`${api}/invocation/next`);
  const id = next.headers.get("lambda-runtime-aws-request-id");
  const deadline = Number(next.headers.get("lambda-runtime-deadline-ms"));
  const context = {
    awsRequestId: id,
    functionName: "test",
    functionVersion: "$LATEST",
    invokedFunctionArn: next.headers.get("lambda-runtime-invoked-function-arn"),
    memoryLimitInMB: "512",
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  };
  try {
    await post(`invocation/${id}/response`, await handler(await next.json(), context));
  } catch (error) {
    await post(`invocation/${id}/error`, described(error));
  }
}
