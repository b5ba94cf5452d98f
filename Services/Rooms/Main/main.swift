import Operations
import Rooms
import ServiceKit

await Program("parlor-rooms", "Rooms, their participants and names.", [.service(RoomsService.self), .operations]).run()
