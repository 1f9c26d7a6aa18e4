package resources_test

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/resources"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		free, shard resources.Amount
		limit, want int
	}{
		{resources.Amount{CPUMilli: 1000, MemMilli: 1000}, resources.Amount{CPUMilli: 300, MemMilli: 100}, 10, 3},
		{resources.Amount{CPUMilli: 1000, MemMilli: 1000}, resources.Amount{CPUMilli: 100, MemMilli: 400}, 10, 2},
		{resources.Amount{CPUMilli: 1000, MemMilli: 1000}, resources.Amount{CPUMilli: 1, MemMilli: 1}, 10, 10},
		{resources.Amount{CPUMilli: 1000, MemMilli: 1000}, resources.Amount{CPUMilli: 1001, MemMilli: 1}, 10, 0},
		{resources.Amount{CPUMilli: 1000, MemMilli: 5}, resources.Amount{CPUMilli: 100}, 20, 10},
		{resources.Amount{CPUMilli: 1000, MemMilli: -5}, resources.Amount{CPUMilli: 100}, 20, 0},
		{resources.Amount{}, resources.Amount{}, 7, 7},
	} {
		if got := c.free.Holds(c.shard, c.limit); got != c.want {
			t.Errorf("%v holds %d of %v, want %d", c.free, got, c.shard, c.want)
		}
	}
}
