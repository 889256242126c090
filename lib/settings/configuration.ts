import { functionDefaults } from "../../src/settings.ts";

/** What a deployment may be told, by the context `deltacap` in cdk.json. Each has a default that a small fleet can keep. */
export interface DeltacapConfiguration {
  /** An existing bucket that captures are uploaded to; "" makes one. Other notifications on it are kept. */
  readonly captureBucket: string;
  /** Only objects whose key begins so are captures; as S3 compares it, without a slash of its own. */
  readonly capturePrefix: string;
  /** Only objects whose key ends in one of these; none: all. Formats are told by content, so most need none. */
  readonly captureSuffixes: readonly string[];
  /** Days after which captures expire; 0: never. Rows keep every byte of a packet. */
  readonly captureDays: number;
  /** Key that the existing capture bucket is encrypted by; its eTags say nothing of the content then. */
  readonly captureKeyArn: string;
  /** Whether a capture is deleted once its rows are committed. */
  readonly deleteCaptures: boolean;
  /** How object keys name the vehicle. */
  readonly keyPattern: string;
  /** Ports that carry SOME/IP and DoIP, where they are not the standards' own. */
  readonly someipPorts: readonly string[];
  readonly doipPorts: readonly string[];

  /** An existing bucket that the table goes to; "" makes one. Its lifecycle rules are its owner's. */
  readonly tableBucket: string;
  /** The table's folder in its bucket: no slashes at its ends, never empty. */
  readonly tablePrefix: string;
  /** Key that the existing table bucket is encrypted by. */
  readonly tableKeyArn: string;
  /** The scheme by which Spark is given the table: it is part of the log store's key. */
  readonly tableScheme: "s3a" | "s3";
  /** `dynamodb` is shared with Spark; `conditional` serves tables that no Spark writes. */
  readonly logStore: "dynamodb" | "conditional";
  /** An existing DynamoDB table of Spark's log store; "" makes one. */
  readonly logTable: string;
  /** Days that the ledger remembers a source. */
  readonly ledgerDays: number;
  /** Glue database in which a table `packets` is registered for Athena; "": none. */
  readonly glueDatabase: string;

  /** "": keys that AWS owns; "create": a key of the stack's own; or the ARN of a key, whose policy is its owner's. */
  readonly key: string;

  /** Messages that one run of the converter is given at most, and the seconds it waits for them. */
  readonly batchSize: number;
  readonly batchWindowSeconds: number;
  /** Converters at once at most. A limit, not a reservation. */
  readonly converterConcurrency: number;
  readonly converterTimeoutSeconds: number;
  /** MB. Lambda gives processor time in proportion: 1,769 MB are one core. */
  readonly converterMemory: number;
  readonly committerMemory: number;
  readonly maintenanceMemory: number;
  /** Whether one committer at once is enforced; an account with the smallest quota cannot reserve. */
  readonly reserveCommitter: boolean;
  readonly commitIntervalSeconds: number;
  readonly filesPerCommit: number;
  /** Largest message of the queues, in bytes. */
  readonly messageBytes: number;
  /** Minutes between two runs of maintenance. */
  readonly maintenanceMinutes: number;
  readonly checkpointInterval: number;
  readonly optimize: boolean;
  readonly vacuum: boolean;
  readonly vacuumHours: number;

  /** Receives the alarms by mail; "": nobody yet, subscribe to the topic. */
  readonly alarmEmail: string;
  /** Address of the runbook. Each alarm links to its section. */
  readonly runbookUrl: string;
  /** Days that the functions' logs are kept: one of the numbers that CloudWatch Logs knows. */
  readonly logDays: number;
  /** ARN of a policy that every role of the stack is bounded by; "": none. */
  readonly permissionsBoundary: string;
  /** Tags of every resource that can have them, each as KEY=VALUE. */
  readonly tags: readonly string[];
  /** Subnets that all functions run in, for accounts that forbid functions outside a VPC; none: no VPC. */
  readonly vpcSubnetIds: readonly string[];
  /** Security groups of the functions in these subnets. */
  readonly vpcSecurityGroupIds: readonly string[];
}

/** The value of each setting that nobody gave. */
export const configurationDefaults: DeltacapConfiguration = {
  captureBucket: "",
  capturePrefix: "",
  captureSuffixes: [],
  captureDays: 0,
  captureKeyArn: "",
  deleteCaptures: functionDefaults.deleteCaptures,
  keyPattern: functionDefaults.keyPattern,
  someipPorts: [],
  doipPorts: [],
  tableBucket: "",
  tablePrefix: "packets",
  tableKeyArn: "",
  tableScheme: functionDefaults.tableScheme,
  logStore: functionDefaults.logStore,
  logTable: "",
  ledgerDays: functionDefaults.ledgerDays,
  glueDatabase: "",
  key: "",
  // A batch shares files: with fewer captures the files are smaller, with more a failed run repeats more.
  batchSize: 100,
  // Upload to row is half of it longer in the middle.
  batchWindowSeconds: 5,
  converterConcurrency: 20,
  // The largest capture that S3 takes in one put, 5 GiB, is read and decoded in less.
  converterTimeoutSeconds: 300,
  converterMemory: 1_769,
  // It waits nearly all the time, and every second of it is billed: at one core it would be most of a small fleet's bill.
  committerMemory: 1_024,
  // What the smallest accounts may use at most.
  maintenanceMemory: 3_008,
  reserveCommitter: true,
  commitIntervalSeconds: functionDefaults.commitIntervalSeconds,
  filesPerCommit: functionDefaults.filesPerCommit,
  messageBytes: functionDefaults.messageBytes,
  maintenanceMinutes: 15,
  checkpointInterval: functionDefaults.checkpointInterval,
  optimize: functionDefaults.optimize,
  vacuum: functionDefaults.vacuum,
  vacuumHours: functionDefaults.vacuumHours,
  alarmEmail: "",
  runbookUrl: "docs/runbook.md",
  logDays: 30,
  permissionsBoundary: "",
  tags: [],
  vpcSubnetIds: [],
  vpcSecurityGroupIds: [],
};

/** Names of the stack's settings. */
export type SettingName = keyof DeltacapConfiguration;
/** What a setting may be. */
export type SettingValue = DeltacapConfiguration[SettingName];
