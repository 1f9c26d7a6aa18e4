package api

import (
	"github.com/elasticjob-go/elasticjob/api/description"
	"github.com/elasticjob-go/elasticjob/api/route"
)

// Description returns the answer of GET /api/openapi.json.
func (s *Server) Description() ([]byte, error) {
	return description.New(description.Options{Version: s.opts.Version,
		Table: func() []route.Route { return s.table }}).JSON()
}
