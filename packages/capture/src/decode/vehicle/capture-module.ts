import { CaptureModule, type DecodingRecord } from "../record/decoding-record.ts";
import { decodeAsamCmpRecord } from "./asam-cmp.ts";
import { decodeCanInUdpRecord } from "./can-in-udp.ts";
import { NO_RECORD } from "./module-record.ts";
import { decodeTecmpRecord } from "./tecmp.ts";

/**
 * Decodes the record at `at` of a capture module's packet into `record`, which is begun. Returns where the next one is, or
 * {@link NO_RECORD} where there is none at `at`. The headers of an Ethernet frame in it are left to the caller.
 */
export function decodeModuleRecord(
  record: DecodingRecord,
  captureModule: number,
  recordType: number,
  at: number,
  end: number,
): number {
  switch (captureModule) {
    case CaptureModule.tecmp:
      return decodeTecmpRecord(record, recordType, at, end);
    case CaptureModule.asamCmp:
      return decodeAsamCmpRecord(record, at, end);
    case CaptureModule.canInUdp:
      return decodeCanInUdpRecord(record, at, end);
    default:
      return NO_RECORD;
  }
}
