package history

import "slices"

// progress tracks how many batches of the newest term are stored, without gaps. A lost batch counts as stored once its
// commit has happened, so that it delays nothing.
type progress struct {
	term      int64
	newest    int64 // the number of the last appended batch
	stored    int64 // all batches up to this one are stored
	lost      []lostRange
	uncertain bool          // the newest batch is lost, and the outcome of its commit is unknown
	changed   chan struct{} // closed and replaced when stored changes
}

// lostRange is a range of lost batches after stored, whose commits have happened. The ranges are in order, and there
// are few of them: an outbox that stays full for hours makes one range.
type lostRange struct{ from, upto int64 }

// recordAppend records that a batch is being appended. A new term starts from the beginning.
func (p *progress) recordAppend(term, number int64) {
	if term != p.term {
		p.term, p.newest, p.stored, p.lost, p.uncertain = term, 0, 0, nil, false
	}
	if p.uncertain && number > p.newest { // a batch follows only if the commit of the previous one has happened
		p.addLost(p.newest)
	}
	p.newest, p.uncertain = number, false
}

// lose records that a batch was not appended. If it is the newest batch, the outcome of its commit is still unknown.
func (p *progress) lose(term, number int64) {
	switch {
	case term != p.term || number <= p.stored:
	case number < p.newest:
		p.addLost(number)
	default:
		p.uncertain = true
	}
}

// settle records the outcome of a batch's commit. It returns true if the batch is the newest one and was lost.
func (p *progress) settle(term, number int64, happened bool) (lost bool) {
	if term != p.term || number != p.newest || !p.uncertain {
		return false
	}
	if p.uncertain = false; happened {
		p.addLost(number)
	}
	return true
}

// store records that a batch is stored. Batches are stored in order, so a missing batch before it is lost.
func (p *progress) store(term, number int64) {
	if term == p.term {
		p.advance(max(p.stored, number))
	}
}

func (p *progress) addLost(number int64) {
	i, _ := slices.BinarySearchFunc(p.lost, number, func(s lostRange, n int64) int { return int(s.from - n) })
	if i > 0 && p.lost[i-1].upto == number-1 {
		p.lost[i-1].upto = number
	} else {
		p.lost = slices.Insert(p.lost, i, lostRange{number, number})
	}
	p.advance(p.stored)
}

// advance raises stored to at least to, and beyond the lost batches that follow.
func (p *progress) advance(to int64) {
	n := 0
	for n < len(p.lost) && p.lost[n].from <= to+1 {
		to = max(to, p.lost[n].upto)
		n++
	}
	p.lost = slices.Delete(p.lost, 0, n)
	if to != p.stored {
		p.stored = to
		close(p.changed)
		p.changed = make(chan struct{})
	}
}
