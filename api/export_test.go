package api

// RouteNames are all rows of the route table as "METHOD /path".
func RouteNames() []string {
	var names []string
	for _, r := range (&Server{}).routes() {
		names = append(names, r.method+" "+r.path)
	}
	return names
}
