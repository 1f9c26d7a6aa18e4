package logs

// Find searches a text that arrives in pieces of size bytes. It returns at most limit matches, and the offset at which
// another search would continue.
func Find(text, wanted string, limit, size int) (found []Match, next int64) {
	f := newFinder(wanted, 0, limit)
	for {
		n := min(size, len(text))
		f.search([]byte(text[:n]), n == len(text))
		if text = text[n:]; text == "" || f.full() {
			return f.found, f.nextOffset()
		}
	}
}
