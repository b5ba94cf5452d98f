import ParlorServices
import Polls

await ParlorServices.run(with: [PollsService.self])
