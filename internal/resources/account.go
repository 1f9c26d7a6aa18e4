package resources

// Account is what some tasks use together. The zero value is for none.
type Account struct {
	tasks, daemons int
	used           Amount
}

// Allot adds a task that uses so much.
func (a *Account) Allot(need Amount, daemon bool) {
	a.tasks++
	if daemon {
		a.daemons++
	}
	a.used = a.used.Plus(need)
}

// Release takes a task off that was added so.
func (a *Account) Release(need Amount, daemon bool) {
	a.tasks--
	if daemon {
		a.daemons--
	}
	a.used = a.used.Minus(need)
}

// Tasks is how many there are, those of daemons included.
func (a Account) Tasks() int { return a.tasks }

// Daemons is how many of them are of daemons.
func (a Account) Daemons() int { return a.daemons }

// Used is how much they use together.
func (a Account) Used() Amount { return a.used }
