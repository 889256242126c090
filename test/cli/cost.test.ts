import { describe, expect, test } from "vitest";
import { deltacap } from "../support/command-line.ts";

const cost = (...argv: readonly string[]) => deltacap("cost", ...argv);

const fleet = ["--vehicles", "80_000", "--objects", "108", "--bytes", "5MB", "--packets", "16000"];

describe("deltacap cost", () => {
  test("shows each line, each service's share and the sum", async () => {
    const { code, out } = await cost(...fleet);
    expect(code).toBe(0);
    expect(out).toMatch(/S3 +uploads by the gateways: puts +8640000 +put +43\.20 +\d+\.\d%/);
    for (const service of ["S3", "Lambda", "DynamoDB", "SQS", "CloudWatch"]) {
      expect(out).toMatch(new RegExp(`^${service} +[\\d.]+ +[\\d.]+%$`, "m"));
    }
    expect(out).toMatch(/^all +[\d.]+ +100\.0%$/m);
    expect(out).toContain("Not in the sum");
  });

  test("begins with the fleet as it was understood, in units, so that a mistaken unit shows", async () => {
    const { out } = await cost(...fleet);
    expect(out.split("\n").slice(0, 3)).toEqual([
      "80,000 vehicles x 108 objects a day, each of 5 MB and 16,000 packets:",
      "8,640,000 objects, 43.2 TB and 138,240,000,000 packets a day.",
      expect.stringMatching(/^US dollars a day, list prices of US East \(N\. Virginia\) as of \d{4}-/),
    ]);
    const small = ["--vehicles", "3", "--objects", "0.5", "--bytes", "50_000", "--packets", "1"];
    expect((await cost(...small)).out).toMatch(
      /^3 vehicles x 0\.5 objects a day, each of 50 KB and 1 packets/,
    );
  });

  test("--json: the fleet, the prices' date and the same lines", async () => {
    const { out } = await cost(...fleet, "--json");
    expect(JSON.parse(out)).toMatchObject({
      fleet: {
        vehicles: 80_000,
        objectsPerVehicle: 108,
        bytesPerObject: 5_000_000,
        packetsPerObject: 16_000,
      },
      pricesAsOf: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
      currency: "USD",
      period: "day",
      lines: expect.arrayContaining([expect.objectContaining({ service: "S3", amount: 8_640_000 })]),
    });
  });

  test("--bundle: so many captures in each object, none of them lost", async () => {
    const { out } = await cost(...fleet, "--bundle", "4", "--json");
    expect(JSON.parse(out)).toMatchObject({
      fleet: { objectsPerVehicle: 27, bytesPerObject: 20_000_000, packetsPerObject: 64_000 },
    });
  });

  test.each(["none", "-1", "0", "5XB", ""])("--bytes %j is refused, with what it may be", async (bytes) => {
    const { code, err } = await cost(
      "--vehicles",
      "1",
      "--objects",
      "1",
      `--bytes=${bytes}`,
      "--packets",
      "1",
    );
    expect(code).toBe(2);
    expect(err).toContain("--bytes");
  });

  test("a missing number is named", async () => {
    const { code, err } = await cost("--vehicles", "1");
    expect(code).toBe(2);
    expect(err).toContain("--objects N is missing");
  });
});
