package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/auth"
)

// Description returns the answer of GET /api/openapi.json to an admin.
func (s *Server) Description() ([]byte, error) {
	r := httptest.NewRequest(http.MethodGet, "/api/openapi.json", http.NoBody)
	admin := auth.Principal{Kind: auth.Machine, Grant: auth.Grant{Role: auth.Admin}}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r.WithContext(caller.WithSocketPeer(r.Context(), admin)))
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("%d %s", w.Code, w.Body)
	}
	return w.Body.Bytes(), nil
}
