import ParlorAccounts
import ParlorOperations
import ParlorServiceKit

await Program(
    "parlor-accounts", "People, their passwords and their sessions.", [.service(AccountsService.self), .operations]
).run()
