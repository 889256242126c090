package main

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A row group ends with so many rows or bytes of frames: those that the table's own files have.
const (
	rowGroupRows       = 131_072
	rowGroupFrameBytes = 12 << 20
)

// column collects one column's values of a row group. A row that nothing is stored for is null.
type column interface {
	field() arrow.Field
	build(rows int) arrow.Array
}

type cells[T any] struct {
	name    string
	kind    arrow.DataType
	values  []T
	valid   []bool
	filled  bool
	builder array.Builder
}

func newCells[T any](name string, kind arrow.DataType) *cells[T] {
	return &cells[T]{
		name:    name,
		kind:    kind,
		values:  make([]T, rowGroupRows),
		valid:   make([]bool, rowGroupRows),
		builder: array.NewBuilder(memory.DefaultAllocator, kind),
	}
}

func (c *cells[T]) field() arrow.Field {
	return arrow.Field{Name: c.name, Type: c.kind, Nullable: true}
}

func (c *cells[T]) set(row int, value T) {
	c.values[row] = value
	c.valid[row] = true
	c.filled = true
}

type appender[T any] interface {
	AppendValues(values []T, valid []bool)
}

func (c *cells[T]) build(rows int) arrow.Array {
	if !c.filled {
		c.builder.AppendNulls(rows)
		return c.builder.NewArray()
	}
	c.builder.(appender[T]).AppendValues(c.values[:rows], c.valid[:rows])
	clear(c.valid[:rows])
	c.filled = false
	return c.builder.NewArray()
}

// frames copies each frame as it comes: the reader's buffer is gone by the time the row group is built.
type frames struct {
	builder *array.BinaryBuilder
	bytes   int
}

func newFrames() *frames {
	return &frames{builder: array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)}
}

func (f *frames) field() arrow.Field {
	return arrow.Field{Name: "frame", Type: arrow.BinaryTypes.Binary, Nullable: true}
}

func (f *frames) add(frame []byte) {
	if f.bytes == 0 {
		f.builder.ReserveData(rowGroupFrameBytes + rowGroupFrameBytes/16)
	}
	f.builder.Append(frame)
	f.bytes += len(frame)
}

func (f *frames) build(int) arrow.Array {
	f.bytes = 0
	return f.builder.NewArray()
}

func integers(name string) *cells[int32] { return newCells[int32](name, arrow.PrimitiveTypes.Int32) }
func longs(name string) *cells[int64]    { return newCells[int64](name, arrow.PrimitiveTypes.Int64) }
func strings(name string) *cells[string] { return newCells[string](name, arrow.BinaryTypes.String) }
func booleans(name string) *cells[bool] {
	return newCells[bool](name, arrow.FixedWidthTypes.Boolean)
}
func timestamps(name string) *cells[arrow.Timestamp] {
	return newCells[arrow.Timestamp](name, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"})
}
