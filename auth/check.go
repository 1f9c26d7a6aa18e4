package auth

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// CheckNewUser says what is wrong with the name and the password of a user who is to be added.
func CheckNewUser(name, password string) document.Violations {
	return slices.Concat(checkName(name), checkPassword(password))
}

// CheckNewPassword says what is wrong with a password.
func CheckNewPassword(password string) document.Violations { return checkPassword(password) }

// CheckNewToken says what is wrong with the name of an API token that is to be added.
func CheckNewToken(name string) document.Violations { return checkName(name) }
