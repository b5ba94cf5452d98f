import ParlorOperations
import ParlorRooms
import ParlorServiceKit

await Program("parlor-rooms", "Rooms, their participants and names.", [.service(RoomsService.self), .operations]).run()
