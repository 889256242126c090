/** Is asked at each step of a test's ports: may hold it up, or fail it. */
export interface Gate {
  /** `step` is `port.method`. Before the call nothing has happened, after it everything has. */
  pass(step: string, moment: "before" | "after"): Promise<void>;
}

/** The port, with every call of its methods, and every item of its listings, passing the gate. */
export function gated<Port extends object>(port: Port, name: string, gate: Gate): Port {
  return new Proxy(port, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== "function" || typeof property !== "string") return member;
      const step = `${name}.${property}`;
      return (...values: unknown[]): unknown => {
        const call = () => Reflect.apply(member, target, values) as unknown;
        return property === "list" ? gatedListing(call, step, gate) : gatedCall(call, step, gate);
      };
    },
  });
}

async function gatedCall(call: () => unknown, step: string, gate: Gate): Promise<unknown> {
  await gate.pass(step, "before");
  const result = await call();
  await gate.pass(step, "after");
  return result;
}

/** A listing shows one moment, as a page of a store's answer does. */
async function* gatedListing(call: () => unknown, step: string, gate: Gate): AsyncIterable<unknown> {
  await gate.pass(step, "before");
  const items: unknown[] = [];
  for await (const item of call() as AsyncIterable<unknown>) items.push(item);
  await gate.pass(step, "after");
  yield* items;
}

/** Runs `action` once, when `step` has been passed at `moment`. */
export function once(step: string, moment: "before" | "after", action: () => Promise<unknown>): Gate {
  let done = false;
  return {
    pass: async (passed, when) => {
      if (done || passed !== step || when !== moment) return;
      done = true;
      await action();
    },
  };
}
