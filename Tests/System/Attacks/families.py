"""All attacks, by name."""

import audience
import before_connect
import elsewhere
import everything
import holding
import logged_in
import plugins
import polling
import signing_in
import unread

FAMILIES = {
    "answers that nobody reads": unread,
    "holding": holding,
    "polling": polling,
    "before CONNECT": before_connect,
    "signing in": signing_in,
    "with an account": logged_in,
    "among many": audience,
    "on the bus": plugins,
    "other ways in": elsewhere,
    "all at once": everything,
}
ATTACKS = {attack.name: attack for family in FAMILIES.values() for attack in family.ALL}
