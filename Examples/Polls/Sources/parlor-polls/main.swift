import ParlorOperations
import ParlorServiceKit
import Polls

await Program("parlor-polls", "Polls in rooms.", [.service(PollsService.self), .operations]).run()
