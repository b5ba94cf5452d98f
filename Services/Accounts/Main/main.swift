import Accounts
import Operations
import ServiceKit

await Program(
    "parlor-accounts", "People, their passwords and their sessions.", [.service(AccountsService.self), .operations]
).run()
