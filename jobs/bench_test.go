package jobs_test

import (
	"os"
	"testing"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// BenchmarkDecodeStored decodes the document of one job as ElasticJob-Cloud writes it. A new leader decodes one
// document for each job, on all processors.
func BenchmarkDecodeStored(b *testing.B) {
	doc, err := os.ReadFile("testdata/job-3.0.1.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := jobs.Schema.DecodeStored(doc); err != nil {
			b.Fatal(err)
		}
	}
}
