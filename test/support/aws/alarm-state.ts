/** An alarm as CloudFormation has it. */
export interface AlarmProperties {
  readonly MetricName?: string;
  readonly Namespace?: string;
  readonly Dimensions?: readonly Dimension[];
  readonly Statistic?: string;
  readonly Metrics?: readonly {
    readonly Id: string;
    readonly Expression?: string;
    readonly MetricStat?: {
      readonly Metric: {
        readonly Namespace: string;
        readonly MetricName: string;
        readonly Dimensions: readonly Dimension[];
      };
      readonly Stat: string;
    };
  }[];
  readonly Threshold: number;
  readonly ComparisonOperator: string;
  readonly TreatMissingData: string;
}

interface Dimension {
  readonly Name: string;
  readonly Value: unknown;
}

/** Values of a period, by the resource (see {@link resourceOf}) and the metric's name: `converter Rejected`. */
export type Observed = ReadonlyMap<string, readonly number[]>;

/** Whether the alarm would fire if every period looked like this one. */
export function fires(alarm: AlarmProperties, observed: Observed): boolean {
  const value = metricValue(alarm, observed);
  if (value === null) return alarm.TreatMissingData === "breaching";
  return alarm.ComparisonOperator === "GreaterThanThreshold"
    ? value > alarm.Threshold
    : value < alarm.Threshold;
}

function metricValue(alarm: AlarmProperties, observed: Observed): number | null {
  const { MetricName, Dimensions = [], Statistic = "", Metrics = [] } = alarm;
  if (MetricName !== undefined) {
    return aggregate(observed.get(`${resourceOf(Dimensions)} ${MetricName}`), Statistic);
  }
  const expression = Metrics.find(({ Expression }) => Expression !== undefined)?.Expression ?? "";
  const values = Metrics.flatMap(({ Id, MetricStat }): [string, number | null][] => {
    if (MetricStat === undefined) return [];
    const { Metric, Stat } = MetricStat;
    return [[Id, aggregate(observed.get(`${resourceOf(Metric.Dimensions)} ${Metric.MetricName}`), Stat)]];
  });
  // Without data for a metric that the expression does not fill, CloudWatch has no value either.
  const missing = values.some(([id, value]) => value === null && !expression.includes(`FILL(${id},`));
  return missing ? null : evaluated(expression, new Map(values));
}

/** Of the functions CloudWatch's metric math has: those that our alarms use. */
function evaluated(expression: string, values: ReadonlyMap<string, number | null>): number {
  const script = expression
    .replaceAll(" AND ", " && ")
    .replaceAll("==", "===")
    .replaceAll(/\bFILL\((\w+), (\d+)\)/g, (_, id: string, otherwise: string) =>
      String(values.get(id) ?? otherwise),
    )
    .replaceAll(/\bIF\b/g, "choose")
    .replaceAll(/\b[a-z]\w*\b/g, (id) => (values.has(id) ? String(values.get(id)) : id));
  const choose = (condition: boolean, then: number, otherwise: number) => (condition ? then : otherwise);
  return Number(new Function("choose", `return ${script};`)(choose));
}

function aggregate(values: readonly number[] | undefined, statistic: string): number | null {
  if (values === undefined || values.length === 0) return null;
  if (statistic === "Maximum") return Math.max(...values);
  if (statistic === "Minimum") return Math.min(...values);
  return values.reduce((sum, value) => sum + value, 0);
}

const RESOURCES: readonly [RegExp, string][] = [
  [/IntakeCapturesDeadLetters/, "captureDeadLetter"],
  [/IntakeCapturesQueue/, "captureQueue"],
  [/ManifestsDeadLetters/, "manifestDeadLetter"],
  [/ManifestsQueue/, "manifestQueue"],
  [/ConverterEngineFunction/, "converter"],
  [/CommitterEngineFunction/, "committer"],
  [/MaintenanceEngineFunction/, "maintenance"],
  [/TableLogStore/, "logTable"],
  [/TableLedger/, "ledgerTable"],
];

/** A function by its name, a queue or a table by its setting. */
function resourceOf(dimensions: readonly Dimension[]): string {
  const service = dimensions.find(({ Name }) => Name === "service");
  if (service !== undefined) return String(service.Value);
  const text = JSON.stringify(dimensions);
  const found = RESOURCES.find(([pattern]) => pattern.test(text));
  if (found === undefined) throw new Error(`no resource is known for the dimensions ${text}`);
  return found[1];
}
