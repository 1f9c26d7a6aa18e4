package api

import (
	"github.com/elasticjob-go/elasticjob/api/description"
	"github.com/elasticjob-go/elasticjob/api/route"
)

// Description is what GET /api/openapi.json answers.
func (s *Server) Description() ([]byte, error) {
	return description.New(description.Options{Version: s.opts.Version,
		Table: func() []route.Route { return s.table }}).JSON()
}
