/** A link type with its snapshot length: an interface of a pcapng section, or a pcap file. */
export interface InterfaceSummary {
  /** pcapng section 1, 2 ...; null for a pcap file. */
  readonly sectionNumber: number | null;
  /** Within its section; null for a pcap file. */
  readonly interfaceId: number | null;
  readonly name: string | null;
  readonly linkType: number;
  /** Bytes; 0 where the file sets no limit. */
  readonly snapLength: number;
}

/** What {@link SummaryCollector} has noted of one input: for showing, bounded whatever the input holds. */
export interface CaptureSummary {
  /** Each format once, in the order first seen: "pcap 2.4, little-endian, nanoseconds". */
  readonly formats: readonly string[];
  /** pcap files and pcapng sections, back to back in the input. */
  readonly pcapFiles: number;
  readonly sections: number;
  /** How many interfaces there are, pcap files counted as one each; `interfaces` lists the first of them. */
  readonly interfaceCount: number;
  readonly interfaces: readonly InterfaceSummary[];
}

const LISTED_INTERFACES = 1000;
const LISTED_FORMATS = 100;
/** UTF-16 units of the listed interfaces' names, of which one may have 65,535. */
const LISTED_NAMES_LENGTH = 1 << 20;

/** Fills a summary while an input is read. */
export class SummaryCollector implements CaptureSummary {
  readonly formats: string[] = [];
  readonly interfaces: InterfaceSummary[] = [];
  pcapFiles = 0;
  sections = 0;
  interfaceCount = 0;
  #namesLength = 0;

  addFormat(format: string): void {
    if (this.formats.length < LISTED_FORMATS && !this.formats.includes(format)) this.formats.push(format);
  }

  addInterface(description: InterfaceSummary): void {
    this.interfaceCount++;
    this.#namesLength += description.name?.length ?? 0;
    if (this.interfaces.length < LISTED_INTERFACES && this.#namesLength <= LISTED_NAMES_LENGTH) {
      this.interfaces.push(description);
    }
  }
}
