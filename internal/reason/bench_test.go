package reason

import "testing"

// BenchmarkWords makes a reason and says it.
func BenchmarkWords(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = FireFoundBusy(at, "my_job@20261126T080000Z", "RUNNING").String()
	}
}
