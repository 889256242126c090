import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, test } from "vitest";
import { encodedForFilter } from "../../lib/settings/notification-filter.ts";
import { resourcesOf, stackOf, type Template, templateOf } from "./synthesized.ts";

/** Prefixes with what S3's documentation names as in need of encoding, and how its filter wants them. */
const prefixes: readonly [prefix: string, filter: string][] = [
  ["upload/", "upload/"],
  ["raw/vendor=acme/", "raw/vendor%3Dacme/"],
  ["fleet a+b/", "fleet+a%2Bb/"],
  ["a&b$c@d;e:f,g/", "a%26b%24c%40d%3Be%3Af%2Cg/"],
  ["Fahrzeuge-ü/", "Fahrzeuge-%C3%BC/"],
  ["a!b-c_d.e'f(g)/", "a!b-c_d.e'f(g)/"],
  ["50%/~x/", "50%25/%7Ex/"],
  ["[new]/{a}/", "%5Bnew%5D/%7Ba%7D/"],
  ["a::b/", "a%3A%3Ab/"],
];

const existing = { captureBucket: "the-captures" };

/** Values of the filter rules of all notifications, of an own bucket or an existing one. */
function filterValues(template: Template): string[] {
  const own = resourcesOf(template, "AWS::S3::Bucket").map(([, { Properties }]) => Properties);
  const others = resourcesOf(template, "Custom::S3BucketNotifications").map(
    ([, { Properties }]) => Properties,
  );
  return [
    ...JSON.stringify([...own, ...others]).matchAll(/"Name":"(?:prefix|suffix)","Value":"([^"]*)"/g),
  ].map(([, value = ""]) => value);
}

describe.each(prefixes)("the prefix %j", (capturePrefix, filter) => {
  test.each([
    ["own", {}],
    ["existing", existing],
  ])("is encoded in the filter of an %s bucket: S3 announces nothing otherwise", (_, bucket) => {
    // One for uploads, one for restored objects.
    expect(filterValues(templateOf({ ...bucket, capturePrefix }))).toEqual([filter, filter]);
  });

  test("stands for itself in IAM's resources", () => {
    const policies = resourcesOf(templateOf({ ...existing, capturePrefix }), "AWS::IAM::Policy");
    expect(JSON.stringify(policies)).toContain(
      JSON.stringify(`:s3:::the-captures/${capturePrefix}*`).slice(1),
    );
  });

  test("breaks none of cdk-nag's rules: a space once ended in a message about wildcards", () => {
    const { app } = stackOf({ capturePrefix });
    const { violations } = new AwsSolutionsChecks(app).validateScope(app);
    expect(violations.map(({ ruleName }) => ruleName)).toEqual([]);
  });

  test("comes back when the filter is decoded as S3 decodes keys", () => {
    expect(decodeURIComponent(encodedForFilter(capturePrefix).replaceAll("+", " "))).toBe(capturePrefix);
  });
});

test("suffixes are encoded, too", () => {
  const captureSuffixes = [" end.pcap", "=1.pcapng"];
  for (const bucket of [{}, existing]) {
    const values = filterValues(templateOf({ ...bucket, captureSuffixes }));
    expect([...new Set(values)]).toEqual(["+end.pcap", "%3D1.pcapng"]);
  }
});

test.each([
  ["raw/*/", "wildcards"],
  ["raw/car-?/", "wildcards"],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is IAM's syntax.
  ["raw/${aws:username}/", "variable"],
  ["raw/\n", "control characters"],
  ["raw/\u007f", "control characters"],
  ["raw/\ud800/", "control characters"],
  ["ä".repeat(200), "1200 characters when encoded"],
])("the prefix %j is refused by name, with the reason", (capturePrefix, reason) => {
  expect(() => stackOf({ capturePrefix })).toThrow(/capturePrefix is "/);
  expect(() => stackOf({ capturePrefix })).toThrow(reason);
  expect(() => stackOf({ captureSuffixes: [capturePrefix] })).toThrow(reason);
});

test.each([
  "lake house/packets",
  "lake/packets*",
  "lake/'; drop table packets --",
  'lake/"packets',
  "lake/paké",
  "lake/100%",
  "lake/a\nb",
  "lake/{date}",
  "lake/a#b",
])(
  "the table's folder %j is refused: it would be part of SQL, shell commands, ARNs and URIs",
  (tablePrefix) => {
    expect(() => stackOf({ tablePrefix })).toThrow(/tablePrefix is .*letters, digits/s);
  },
);

test.each([
  ["captureBucket", "captures..of"],
  ["captureBucket", "captures.-of"],
  ["tableBucket", "192.168.0.1"],
  ["tableBucket", "lake/*"],
  ["permissionsBoundary", "arn:aws:iam::123456789012:policy/any *"],
  ["runbookUrl", "https://wiki.example.com/run book"],
  ["runbookUrl", `https://wiki.example.com/${"x".repeat(500)}`],
  ["logTable", "delta'log"],
  ["glueDatabase", "lake-house"],
  ["keyPattern", `{vehicle_id}/${"x".repeat(512)}`],
])("%s may not be %j: it is part of an ARN, of a page, or of the functions' environment", (name, value) => {
  expect(() => stackOf({ [name]: value })).toThrow(name);
});
