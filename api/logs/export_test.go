package logs

// Find looks for a text in another that comes in pieces of a size.
func Find(text, wanted string, most, size int) (found []Match, next int64) {
	f := newFinder(wanted, 0, most)
	for {
		n := min(size, len(text))
		f.take([]byte(text[:n]), n == len(text))
		if text = text[n:]; text == "" || f.full() {
			return f.found, f.next()
		}
	}
}
