package reason

import "testing"

// BenchmarkWords creates a reason and formats it.
func BenchmarkWords(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = FireFoundBusy(at, "my_job@20261126T080000Z", "RUNNING").String()
	}
}
