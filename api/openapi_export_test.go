package api

// Description is what GET /api/openapi.json answers.
func (s *Server) Description() ([]byte, error) {
	made, err := s.description.Describe()
	if err != nil {
		return nil, err
	}
	return made.Text(), nil
}
