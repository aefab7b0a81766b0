// Reads and writes frames of the host protocol. Part of Host.java.

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Map;

final class HostFrames {
    static final int MAGIC = 0x554C, VERSION = 2, HEADER_BYTES = 8, MAX_BODY = 64 << 20;
    static final int CONFIGURE = 1, HELLO = 2, ARRIVALS = 3, ACTIONS = 4, ENDING = 5, ERROR = 6, STOP = 7;

    private HostFrames() {}

    /** The fleet broke the protocol. The host reports it in an ERROR frame and ends. */
    @SuppressWarnings("serial")
    static final class ProtocolError extends RuntimeException {
        ProtocolError(String message) {
            super(message);
        }
    }

    record Frame(int kind, ByteBuffer body) {}

    /** Return the next frame, or null at the end of the stream, which means stop. Throws ProtocolError. */
    static Frame read(InputStream in) throws IOException {
        byte[] head = in.readNBytes(HEADER_BYTES);
        if (head.length == 0) return null;
        if (head.length < HEADER_BYTES) throw new ProtocolError("the stream ended within a header");
        ByteBuffer header = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
        if ((header.getShort() & 0xFFFF) != MAGIC) throw new ProtocolError("a frame does not begin with LU");
        int version = header.get(), kind = header.get();
        long bytes = header.getInt() & 0xFFFFFFFFL;
        if (version != VERSION) throw new ProtocolError("a frame has version " + version + ", expected " + VERSION);
        if (kind != CONFIGURE && kind != ACTIONS && kind != STOP) throw new ProtocolError("a frame has kind " + kind);
        if (bytes > MAX_BODY) throw new ProtocolError("a frame announces " + bytes + " bytes, allowed are " + MAX_BODY);
        byte[] body = in.readNBytes((int) bytes);
        if (body.length < bytes) throw new ProtocolError("the stream ended within a frame");
        return new Frame(kind, ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN));
    }

    /** Return a frame with its header. The caller fills the body, which begins at HEADER_BYTES. */
    static ByteBuffer frame(int kind, long bodyBytes) {
        if (bodyBytes > MAX_BODY) throw new IllegalStateException("a frame would have " + bodyBytes + " bytes");
        ByteBuffer frame = ByteBuffer.allocate(HEADER_BYTES + (int) bodyBytes).order(ByteOrder.LITTLE_ENDIAN);
        return frame.putShort((short) MAGIC).put((byte) VERSION).put((byte) kind).putInt((int) bodyBytes);
    }

    static int aligned(int bytes) {
        return (bytes + 7) & ~7;
    }

    static byte[] json(int kind, Map<String, Object> values) {
        byte[] body = HostJson.write(values).getBytes(StandardCharsets.UTF_8);
        return frame(kind, body.length).put(body).array();
    }

    static String text(ByteBuffer body) {
        return StandardCharsets.UTF_8.decode(body).toString();
    }
}
