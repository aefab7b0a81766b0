// Reads and writes JSON. Whole numbers become Long, others Double. Part of Host.java.

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

final class HostJson {
    private final String text;
    private int at = 0;

    private HostJson(String text) {
        this.text = text;
    }

    static Object parse(String text) {
        HostJson json = new HostJson(text);
        Object value = json.value();
        if (json.peek() != 0) throw json.wrong("the end");
        return value;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value, String what) {
        if (value instanceof Map<?, ?>) return (Map<String, Object>) value;
        throw new HostFrames.ProtocolError(what + " is not a JSON object");
    }

    static long whole(Object value, String what) {
        if (value instanceof Long number && number >= 0) return number;
        throw new HostFrames.ProtocolError(what + " is " + value + ", expected a whole number");
    }

    private HostFrames.ProtocolError wrong(String expected) {
        return new HostFrames.ProtocolError("JSON: expected " + expected + " at " + at);
    }

    /** Skip white space and return the next character; 0 at the end. */
    private char peek() {
        while (at < text.length() && text.charAt(at) <= ' ') at++;
        return at < text.length() ? text.charAt(at) : 0;
    }

    private void expect(char wanted) {
        if (peek() != wanted) throw wrong("'" + wanted + "'");
        at++;
    }

    private Object value() {
        return switch (peek()) {
            case '{' -> map();
            case '[' -> list();
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Object word(String word, Object meaning) {
        if (!text.startsWith(word, at)) throw wrong(word);
        at += word.length();
        return meaning;
    }

    private Object number() {
        int start = at;
        while (at < text.length() && "+-0123456789.eE".indexOf(text.charAt(at)) >= 0) at++;
        String digits = text.substring(start, at);
        try {
            return digits.matches("-?\\d{1,18}") ? (Object) Long.valueOf(digits) : (Object) Double.valueOf(digits);
        } catch (NumberFormatException error) {
            throw wrong("a value");
        }
    }

    private Map<String, Object> map() {
        Map<String, Object> map = new LinkedHashMap<>();
        expect('{');
        while (peek() != '}') {
            if (!map.isEmpty()) expect(',');
            if (peek() != '"') throw wrong("a name");
            String name = string();
            expect(':');
            map.put(name, value());
        }
        at++;
        return map;
    }

    private List<Object> list() {
        List<Object> list = new ArrayList<>();
        expect('[');
        while (peek() != ']') {
            if (!list.isEmpty()) expect(',');
            list.add(value());
        }
        at++;
        return list;
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        for (at++; at < text.length() && text.charAt(at) != '"'; at++) {
            if (text.charAt(at) != '\\') {
                out.append(text.charAt(at));
                continue;
            }
            char escaped = ++at < text.length() ? text.charAt(at) : 0;
            int plain = "bfnrt".indexOf(escaped);
            if (escaped == 'u' && at + 4 < text.length()) {
                out.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                at += 4;
            } else {
                out.append(plain < 0 ? escaped : "\b\f\n\r\t".charAt(plain));
            }
        }
        if (at++ >= text.length()) throw wrong("the end of a text");
        return out.toString();
    }

    static String write(Object value) {
        if (value instanceof String text) return quoted(text);
        StringBuilder out = new StringBuilder();
        if (value instanceof Map<?, ?> map) {
            map.forEach((name, each) -> {
                out.append(out.isEmpty() ? "" : ",").append(quoted((String) name)).append(':').append(write(each));
            });
            return "{" + out + "}";
        }
        if (value instanceof Collection<?> list) {
            list.forEach(each -> out.append(out.isEmpty() ? "" : ",").append(write(each)));
            return "[" + out + "]";
        }
        return String.valueOf(value); // numbers, true, false and null are written as Java writes them
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') out.append('\\').append(each);
            else if (each < ' ') out.append(String.format("\\u%04x", (int) each));
            else out.append(each);
        }
        return out.append('"').toString();
    }
}
