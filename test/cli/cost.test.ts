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
