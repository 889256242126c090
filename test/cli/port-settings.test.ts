import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { expect, test } from "vitest";
import { portsFrom } from "../../src/settings.ts";
import { pcap } from "../support/captures/capture-builder.ts";
import { data, ethernet, ipv4, tcp, udp } from "../support/captures/frame-builder.ts";
import { diagnostic, someip } from "../support/captures/vehicle-frame-builder.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("ports are lists of numbers, and nothing where nothing is set", () => {
  expect(portsFrom({})).toBeUndefined();
  expect(portsFrom({ DELTACAP_SOMEIP_PORTS: "" })).toBeUndefined();
  expect(portsFrom({ DELTACAP_SOMEIP_PORTS: "30490, 30501" })).toEqual({ someipPorts: [30_490, 30_501] });
  expect(portsFrom({ DELTACAP_DOIP_PORTS: "13401" })).toEqual({ doipPorts: [13_401] });
});

test.each(["30490;30501", "65536", "-1", "30490,", "0x7735"])(
  '"%s" is refused, with the variable\'s name',
  (text) => {
    expect(() => portsFrom({ DELTACAP_SOMEIP_PORTS: text })).toThrow(/DELTACAP_SOMEIP_PORTS is "/);
  },
);

test("the command line takes them: what is cut on such a port is SOME/IP all the same", async () => {
  const folder = temporaryFolder();
  const cut = someip({ length: 500 }, data(20));
  const packets = [
    ethernet(0x0800, ipv4({ protocol: 17 }, udp({ destination: 30_501 }, cut))),
    ethernet(0x0800, ipv4({ protocol: 6 }, tcp({ destination: 13_401 }, diagnostic(1, 2, 0x22)))),
  ];
  writeFileSync(
    join(folder, "capture.pcap"),
    pcap(
      {},
      packets.map((bytes) => ({ bytes })),
    ),
  );
  const rows = async (environment: Readonly<Record<string, string>>) => {
    const args = [
      "--import",
      "tsx",
      "cli/main.ts",
      "convert",
      join(folder, "capture.pcap"),
      "-o",
      join(folder, "out.parquet"),
    ];
    execFileSync("node", args, { env: { ...process.env, ...environment }, stdio: "ignore" });
    const file = new Uint8Array(readFileSync(join(folder, "out.parquet"))).buffer;
    const columns = ["someip_count", "uds_service_id"];
    return await parquetReadObjects({ file, columns, compressors });
  };
  const none = { someip_count: null, uds_service_id: null };
  expect(await rows({})).toEqual([none, none]);
  expect(await rows({ DELTACAP_SOMEIP_PORTS: "30501", DELTACAP_DOIP_PORTS: "13401" })).toEqual([
    { ...none, someip_count: 1 },
    { ...none, uds_service_id: 0x22 },
  ]);
});
