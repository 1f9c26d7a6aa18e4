package api

import "github.com/gin-gonic/gin"

// faulty lists the documents in the registry that can't be used ([D15]).
func (s *Server) faulty(c *gin.Context) (any, error) {
	views, err := s.opts.Scheduler.FaultyDocuments(c.Request.Context())
	return orEmpty(views), err
}
