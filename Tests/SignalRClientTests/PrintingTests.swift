import Foundation
import SignalRClient
import TestSupport
import TestTraits
import Testing

/// Tests that programs may print options, requests and connections without showing secrets.
@Suite(.limited) struct PrintingTests {
    private var options: HttpConnectionOptions {
        var options = HttpConnectionOptions()
        options.headers = ["X-Api-Key": "hush"]
        options.accessTokenFactory = { "hush" }
        options.proxy = .server(host: "proxy", port: 1, credentials: .init(username: "u", password: "hush"))
        return options
    }

    @Test func printedValuesShowNoSecrets() {
        let builder = HubConnectionBuilder.patient.withUrl(
            url: "https://u:hush@hub.test/hub?token=hush",
            options: options
        )
        let request = HttpRequest(
            method: .POST,
            url: "https://u:hush@hub.test/hub?token=hush",
            content: .string("hush"),
            headers: ["Authorization": "Bearer hush"]
        )
        let values: [Any] = [
            options, builder, builder.build(), request, HttpResponse(statusCode: 200, cookies: ["session=hush"]),
        ]
        for value in values {
            for form in PrintedForms.of(value) { #expect(!form.contains("hush"), "\(type(of: value))") }
        }
        #expect("\(request)" == "POST https://hub.test/hub")
        #expect("\(builder)" == "HubConnectionBuilder(https://hub.test/hub)")
    }
}
