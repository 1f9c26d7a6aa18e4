package server

import (
	"log/slog"
	"time"

	"github.com/elasticjob-go/elasticjob/api/descriptors"
)

const (
	// fewDescriptors are fewer than a server with some agents and browsers has use for.
	fewDescriptors = 1024
	// mostReserved and mostStreams are as many as a server has any use for, however high the limit is.
	mostReserved = 64
	mostStreams  = 1000
)

// reserveDescriptors keeps some of the process's descriptors for the API, whose clients have half of all at most. It
// says how many clients may follow events, and how many output: both together take no more than half of all
// descriptors, also where this server passes on what the leader sends, and so has two for each.
func reserveDescriptors(log *slog.Logger) (reserve *descriptors.Reserve, streams int, err error) {
	limit, err := descriptors.Limit()
	if err != nil {
		return nil, 0, err
	}
	if limit < fewDescriptors {
		log.Warn("limit of file descriptors is low: connections to agents, the registry and clients may fail; raise it "+
			"(ulimit -n, LimitNOFILE of systemd)", "limit", limit, "want", fewDescriptors)
	}
	reserve, err = descriptors.New(min(mostReserved, max(limit/32, 1)), max(limit/2, 1), log, time.Now)
	return reserve, min(mostStreams, max(limit/8, 1)), err
}
