// Package soak is a long storm: servers, masters, agents and executors are killed with kill -9, frozen and thawed at
// random while jobs fire, and the ledger is checked at the end. It is built with the tag soak only: make soak.
package soak
