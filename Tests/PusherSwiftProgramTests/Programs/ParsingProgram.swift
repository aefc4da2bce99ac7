import Foundation
import PusherClient

/// The program for the section "Event data" of PusherSwift's documentation: parses data with `JSONDecoder` and
/// `JSONSerialization`, and reads the event's other properties.
class ParsingProgram {
    struct Company: Codable {
        let name: String
        let price: Double
    }

    let pusher: Pusher
    let decoder = JSONDecoder()
    let say: (String) -> Void

    init(_ settings: Settings, say: @escaping (String) -> Void) {
        self.say = say
        pusher = Pusher(
            key: settings.key,
            options: PusherClientOptions(host: .host(settings.host), port: settings.port, useTLS: false)
        )
    }

    func start() {
        let channel = pusher.subscribe("my-channel")

        channel.bind(
            eventName: "decoded",
            eventCallback: { (event: PusherEvent) -> Void in
                guard let json: String = event.data,
                    let jsonData: Data = json.data(using: .utf8)
                else {
                    print("Could not convert JSON string to data")
                    return
                }
                let company = try? self.decoder.decode(Company.self, from: jsonData)
                guard let company = company else {
                    self.say("no company")
                    return
                }
                self.say("\(company.name) at \(company.price)")
            }
        )

        channel.bind(
            eventName: "serialized",
            eventCallback: { (event: PusherEvent) in
                guard let data = event.data?.data(using: .utf8),
                    let object = try? JSONSerialization.jsonObject(with: data, options: []) as? [String: AnyObject]
                else {
                    self.say("no object")
                    return
                }
                self.say("object: \(object["name"] as? String ?? "-")")
            }
        )

        channel.bind(eventName: "properties") { event in
            let own = event.property(withKey: "tag") as? String
            let raw = event.property(withKey: "data") as? String
            self.say(
                "\(event.eventName) \(event.channelName!) \(event.userId ?? "nil") \(own ?? "nil") \(raw ?? "nil")"
            )
        }
        pusher.connect()
    }
}
