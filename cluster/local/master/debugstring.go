package master

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// debugString writes a generated message as C++ protobuf's DebugString does, which is what
// Mesos' messages quote: fields by number, two spaces for each level.
func debugString(message any) string {
	var b strings.Builder
	writeMessage(&b, reflect.Indirect(reflect.ValueOf(message)), "")
	return b.String()
}

type numbered struct {
	number int
	name   string
	value  reflect.Value
}

func writeMessage(b *strings.Builder, message reflect.Value, indent string) {
	var fields []numbered
	for i := range message.NumField() {
		tag := strings.Split(message.Type().Field(i).Tag.Get("protobuf"), ",")
		if len(tag) < 4 {
			continue
		}
		number, err := strconv.Atoi(tag[1])
		if err != nil {
			continue
		}
		fields = append(fields, numbered{number, strings.TrimPrefix(tag[3], "name="), message.Field(i)})
	}
	slices.SortFunc(fields, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	for _, f := range fields {
		switch {
		case f.value.Kind() == reflect.Slice && f.value.Type().Elem().Kind() == reflect.Uint8:
			if !f.value.IsNil() {
				fmt.Fprintf(b, "%s%s: %s\n", indent, f.name, strconv.Quote(string(f.value.Bytes())))
			}
		case f.value.Kind() == reflect.Slice:
			for i := range f.value.Len() {
				writeField(b, f.name, f.value.Index(i), indent)
			}
		default:
			writeField(b, f.name, f.value, indent)
		}
	}
}

func writeField(b *strings.Builder, name string, value reflect.Value, indent string) {
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return
		}
		value = value.Elem()
	}
	switch value.Kind() {
	case reflect.Struct:
		fmt.Fprintf(b, "%s%s {\n", indent, name)
		writeMessage(b, value, indent+"  ")
		fmt.Fprintf(b, "%s}\n", indent)
	case reflect.String:
		fmt.Fprintf(b, "%s%s: %s\n", indent, name, strconv.Quote(value.String()))
	case reflect.Map:
		// No message that is quoted has one.
	default:
		fmt.Fprintf(b, "%s%s: %v\n", indent, name, value.Interface())
	}
}
