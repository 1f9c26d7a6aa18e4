package server

import (
	"log/slog"
	"time"

	"github.com/elasticjob-go/elasticjob/api/descriptors"
)

const (
	// fewDescriptors is the limit of open files below which a start logs a warning, because a server with some agents
	// and browsers may require more.
	fewDescriptors = 1024
	// maxReserved and maxStreams are the maximum size of the reserve and the maximum number of streams, even if the
	// limit of open files is high.
	maxReserved = 64
	maxStreams  = 1000
)

// reserveDescriptors reserves some of the process's file descriptors for the API. The API's clients get at most half
// of all descriptors. streams is how many clients may follow events, and also how many may follow output: at most an
// eighth of all descriptors. Both kinds together then use at most half, even on a standby, which requires two
// descriptors for each stream because it forwards the leader's.
func reserveDescriptors(log *slog.Logger) (reserve *descriptors.Reserve, streams int, err error) {
	limit, err := descriptors.Limit()
	if err != nil {
		return nil, 0, err
	}
	if limit < fewDescriptors {
		log.Warn("limit of file descriptors is low: connections to agents, the registry and clients may fail; raise it "+
			"(ulimit -n, LimitNOFILE of systemd)", "limit", limit, "want", fewDescriptors)
	}
	reserve, err = descriptors.New(min(maxReserved, max(limit/32, 1)), max(limit/2, 1), log, time.Now)
	return reserve, min(maxStreams, max(limit/8, 1)), err
}
