import Operations
import Polls
import ServiceKit

await Program("parlor-polls", "Polls in rooms.", [.service(PollsService.self), .operations]).run()
