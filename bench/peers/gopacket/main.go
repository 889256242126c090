// Command gopacket converts one capture into one Parquet file with the columns of Deltacap's table, by gopacket and arrow-go:
// `gopacket CAPTURE OUT.parquet`. The benchmark's peer of `bench/peers/ours.ts`.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gopacket CAPTURE OUT.parquet")
		os.Exit(2)
	}
	packets, err := convert(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(packets)
}

func convert(input, output string) (packets int64, err error) {
	capture, err := openCapture(input)
	if err != nil {
		return 0, err
	}
	defer capture.file.Close()
	table := newTable()
	schema := table.schema()
	file, err := os.Create(output)
	if err != nil {
		return 0, err
	}
	writer, err := pqarrow.NewFileWriter(schema, file, writerProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		return 0, err
	}
	rows := &rows{table: table, decoder: newDecoder(table), capture: capture, name: "s3://bench/vehicle/" + filepath.Base(input)}
	for {
		count, err := rows.fill()
		packets += int64(count)
		if count > 0 {
			batch := table.take(schema, count)
			if err := writer.Write(batch); err != nil {
				return packets, err
			}
			batch.Release()
		}
		if errors.Is(err, io.EOF) {
			return packets, writer.Close()
		}
		if err != nil {
			return packets, err
		}
	}
}

// writerProperties: zstd level 1 as in the table's own files, and no dictionary where nearly all values differ, which arrow-go
// would make and throw away. Statistics of all other columns are arrow-go's default.
func writerProperties() *parquet.WriterProperties {
	properties := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(1),
		parquet.WithStatsFor("frame", false),
		parquet.WithMaxRowGroupLength(rowGroupRows),
	}
	for _, name := range []string{"frame", "tcp_seq", "tcp_ack"} {
		properties = append(properties, parquet.WithDictionaryFor(name, false))
	}
	for _, name := range []string{"packet_number", "ts"} {
		properties = append(properties, parquet.WithDictionaryFor(name, false),
			parquet.WithEncodingFor(name, parquet.Encodings.DeltaBinaryPacked))
	}
	return parquet.NewWriterProperties(properties...)
}

// rows fills one row group after another.
type rows struct {
	table   *table
	decoder *decoder
	capture *capture
	name    string
	packets int64
}

// fill returns io.EOF with the last rows.
func (r *rows) fill() (int, error) {
	row := 0
	for ; row < rowGroupRows && r.table.frame.bytes < rowGroupFrameBytes; row++ {
		frame, info, err := r.capture.source.ZeroCopyReadPacketData()
		if err != nil {
			return row, err
		}
		r.packets++
		linkType := r.capture.linkTypeOf(info)
		t := r.table
		t.capture.set(row, r.name)
		t.sourceID.set(row, "00000000000000000000000000000000")
		t.vehicleID.set(row, "car-1")
		t.packetNumber.set(row, r.packets)
		t.ts.set(row, arrow.Timestamp(info.Timestamp.UnixMicro()))
		t.tsNanos.set(row, int32(info.Timestamp.Nanosecond()%1000))
		t.linkType.set(row, int32(linkType))
		t.capturedLength.set(row, int64(info.CaptureLength))
		t.originalLength.set(row, int64(info.Length))
		t.decodeStatus.set(row, "ok")
		t.ingestedAt.set(row, 0)
		t.frame.add(frame)
		if r.capture.pcapng != nil {
			if err := r.setInterface(row, info.InterfaceIndex); err != nil {
				return row, err
			}
		}
		if err := r.decoder.decode(row, linkType, frame); err != nil {
			return row, fmt.Errorf("packet %d: %w", r.packets, err)
		}
	}
	return row, nil
}

func (r *rows) setInterface(row, index int) error {
	iface, err := r.capture.pcapng.Interface(index)
	if err != nil {
		return err
	}
	r.table.sectionNumber.set(row, 1)
	r.table.interfaceID.set(row, int32(index))
	r.table.interfaceName.set(row, iface.Name)
	return nil
}
