import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * The network in front of a server: one address that stays while the server is killed and started elsewhere, and that
 * can be cut, closed, or go silent without closing anything, as networks do.
 */
export class Gate {
  /** Where the server listens now; undefined while it is down. */
  target: { readonly host: string; readonly port: number } | undefined;
  /** Connections that were let in. */
  accepted = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isSilent = false;
  port = 0;

  constructor() {
    this.#server = createServer((client) => this.#enter(client));
  }

  /** Listens on a port that the system chooses. */
  open(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.listen(0, "127.0.0.1", () => {
        const address = this.#server.address();
        this.port = typeof address === "object" && address !== null ? address.port : 0;
        resolve();
      });
    });
  }

  #enter(client: Socket): void {
    this.#hold(client);
    if (this.target === undefined) {
      client.destroy();
      return;
    }
    this.accepted += 1;
    const server = connect(this.target);
    this.#hold(server);
    const pass = (from: Socket, to: Socket): void => {
      from.on("data", (bytes) => {
        if (!this.#isSilent) {
          to.write(bytes);
        }
      });
      from.on("close", () => to.destroy());
    };
    pass(client, server);
    pass(server, client);
  }

  #hold(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => this.#sockets.delete(socket));
  }

  /** Cuts every connection. */
  cut(): void {
    for (const socket of this.#sockets) {
      socket.destroy();
    }
  }

  /** From now on nothing passes, and nobody is told. */
  silence(isSilent: boolean): void {
    this.#isSilent = isSilent;
  }

  /** Ends. */
  close(): void {
    this.#server.close();
    this.cut();
  }
}
