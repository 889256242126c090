import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Form } from "../seeded-capture.ts";

const require = createRequire(import.meta.url);
const here = fileURLToPath(new URL(".", import.meta.url));

/** A program that turns a capture into a file of rows. */
export interface Peer {
  readonly name: string;
  /** Whether it gets a tenth of the packets, being slow. */
  readonly tenth: boolean;
  /** Why it cannot read a capture of this form; null where it can. */
  refuses(form: Form): string | null;
  /** Makes it ready, once; throws where it is not to be had. */
  prepare(): Promise<void>;
  /** What to run; its output is `folder`/out.* or its standard output, which is put into `folder`/stdout. */
  command(input: string, folder: string): readonly string[];
  /** A DuckDB relation over its output, with the table's names for the columns that it has. */
  relation(folder: string): string;
}

const anything = () => null;

/** Ours, run by that Node: with its zstd, or with one in WebAssembly where it has none. */
export function ours(node: string, work: string): Peer {
  const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
  const hasZstd = execFileSync(node, ["-p", "typeof require('node:zlib').createZstdCompress"], {
    encoding: "utf8",
  }).startsWith("function");
  const bundle = join(work, "ours.mjs");
  return {
    name: `deltacap, Node ${version.slice(1)}${hasZstd ? "" : ", zstd in WebAssembly"}`,
    tenth: false,
    refuses: anything,
    prepare: async () => {
      await build({
        entryPoints: [join(here, "ours.ts")],
        outfile: bundle,
        bundle: true,
        platform: "node",
        target: "node20",
        format: "esm",
        // The loader of zstd in WebAssembly is CommonJS.
        banner: {
          js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url); const __dirname = import.meta.dirname;',
        },
        logLevel: "warning",
      });
      copyFileSync(
        join(dirname(require.resolve("@bokuweb/zstd-wasm")), "zstd.wasm"),
        join(work, "zstd.wasm"),
      );
    },
    command: (input, folder) => [node, bundle, input, folder],
    relation: (folder) => `'${join(folder, "*.parquet")}'`,
  };
}

export function gopacket(work: string): Peer {
  const program = join(work, "gopacket");
  return {
    name: "gopacket + arrow-go",
    tenth: false,
    refuses: anything,
    prepare: async () => {
      run("go", ["build", "-o", program, "."], join(here, "gopacket"));
    },
    command: (input, folder) => [program, input, join(folder, "out.parquet")],
    relation: (folder) => `'${join(folder, "out.parquet")}'`,
  };
}

/** Built from crates.io, which takes minutes the first time. It has eleven of the columns, and zstd of level 3 only. */
export function pcapToolkit(work: string): Peer {
  const program = join(work, "bin", "pcap-toolkit");
  return {
    name: "pcap-toolkit 0.5.0",
    tenth: false,
    refuses: (form) => {
      if (form.endsWith(".gz")) return "it reads no gzip";
      return form === "pcapng"
        ? "it counts a block's padding as frame, and takes nanoseconds for microseconds"
        : null;
    },
    prepare: async () => {
      if (existsSync(program)) return;
      run("cargo", ["install", "--quiet", "--root", work, "pcap-toolkit@0.5.0"], work);
    },
    // Its option for zstd is named after payloads and means the file.
    command: (input, folder) => [
      program,
      "export",
      "--compress-payload",
      "--output",
      join(folder, "out.parquet"),
      input,
    ],
    relation: (folder) => `(select make_timestamp(timestamp_ns // 1000) as ts,
      (timestamp_ns % 1000)::integer as ts_nanos, src_ip as ip_src, dst_ip as ip_dst, protocol as ip_protocol,
      src_port, dst_port, tcp_flags, caplen as captured_length, origlen as original_length, payload as frame
      from '${join(folder, "out.parquet")}')`,
  };
}

export function dpkt(work: string): Peer {
  const python = join(work, "venv", "bin", "python");
  return {
    name: "dpkt + pyarrow",
    tenth: true,
    refuses: (form) =>
      form.startsWith("pcapng") ? "its pcapng reader knows one interface and no link type of a packet" : null,
    prepare: async () => {
      if (existsSync(python)) return;
      run("python3", ["-m", "venv", join(work, "venv")], work);
      run(python, ["-m", "pip", "install", "--quiet", "dpkt==1.9.8", "pyarrow==26.0.1"], work);
    },
    command: (input, folder) => [python, join(here, "dpkt_pyarrow.py"), input, join(folder, "out.parquet")],
    relation: (folder) => `'${join(folder, "out.parquet")}'`,
  };
}

/** Its fields of the table's columns. It has no field for a frame's bytes, so that `frame` is missing. */
const tsharkFields =
  `frame.number frame.time_epoch frame.cap_len frame.len frame.interface_id frame.interface_name
  eth.src eth.dst eth.type vlan.id vlan.priority vlan.etype arp.opcode ip.version ip.proto ip.ttl ip.dsfield.dscp ip.src ip.dst
  ip.id ip.frag_offset ip.flags.mf ipv6.nxt ipv6.hlim ipv6.tclass.dscp ipv6.src ipv6.dst tcp.srcport tcp.dstport udp.srcport
  udp.dstport tcp.flags tcp.window_size_value tcp.seq_raw tcp.ack_raw icmp.type icmp.code icmpv6.type icmpv6.code can.id
  can.flags.xtd can.flags.rtr can.flags.err can.len someip.serviceid someip.methodid someip.clientid someip.sessionid
  someip.messagetype someip.returncode doip.type doip.source_address doip.target_address uds.sid ptp.v2.messagetype
  ptp.v2.sequenceid`.split(/\s+/);

export function tshark(): Peer {
  return {
    name: "tshark to CSV",
    tenth: true,
    refuses: anything,
    prepare: async () => {
      run("tshark", ["--version"], ".");
    },
    // No name look-ups, no reassembly and no analysis of connections: nothing that the table does not hold.
    command: (input) => [
      "tshark",
      "-n",
      ...["-r", input, "-T", "fields", "-E", "header=y", "-E", "separator=,", "-E", "occurrence=f"],
      ...["-o", "tcp.analyze_sequence_numbers:FALSE", "-o", "tcp.desegment_tcp_streams:FALSE"],
      ...["-o", "ip.defragment:FALSE"],
      ...tsharkFields.flatMap((field) => ["-e", field]),
    ],
    relation: (folder) => `(select "frame.number" as packet_number, "frame.cap_len" as captured_length,
      "frame.len" as original_length, "eth.src" as eth_src, "eth.dst" as eth_dst, "vlan.id" as vlan_id,
      "arp.opcode" as arp_opcode, 
      coalesce("tcp.srcport", "udp.srcport") as src_port, coalesce("tcp.dstport", "udp.dstport") as dst_port,
      "tcp.seq_raw" as tcp_seq, "tcp.ack_raw" as tcp_ack from read_csv('${join(folder, "stdout")}', header = true))`,
  };
}

function run(command: string, args: readonly string[], cwd: string): void {
  mkdirSync(cwd, { recursive: true });
  try {
    execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    const said = (stderr ?? "").trim().split("\n").at(-1);
    throw new Error(`${basename(command)}: ${said === undefined || said === "" ? message : said}`);
  }
}
