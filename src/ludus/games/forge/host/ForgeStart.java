// Loads Forge's cards and rules data, without its window system. Part of ForgeGame.java.

import forge.CardStorageReader;
import forge.ImageKeys;
import forge.StaticData;
import forge.ai.AiProfileUtil;
import forge.card.CardType;
import forge.game.card.CardUtil;
import forge.util.FileSection;
import forge.util.FileUtil;
import forge.util.Lang;
import forge.util.Localizer;
import forge.util.MyRandom;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

final class ForgeStart {
    private ForgeStart() {}

    /** Load the data of an installation. Cards are read when a deck needs them; tokens at once, because games need them. */
    static void load(Path folder) {
        Path res = folder.resolve("res");
        for (String part : List.of("cardsfolder", "editions", "tokenscripts", "languages", "lists", "ai")) {
            if (!Files.isDirectory(res.resolve(part))) throw new Host.Refused("forge: there is no folder " + res.resolve(part));
        }
        MyRandom.setRandom(ForgeRandom.SHARED);
        Lang.createInstance("en-US");
        Localizer.getInstance().initialize("en-US", within(res, "languages"));
        String none = within(res, "no-pictures");
        ImageKeys.initializeDirs(none, Map.of(), none, none, none, none, none, none, none);
        Map<String, List<String>> types = FileSection.parseSections(FileUtil.readFile(within(res, "lists") + "TypeLists.txt"));
        for (Map.Entry<String, List<String>> each : types.entrySet()) CardType.Helper.parseTypes(each.getKey(), each.getValue());
        CardType.Constant.LOADED.set();
        for (String keyword : FileUtil.readFile(within(res, "lists") + "NonStackingKWList.txt")) {
            if (keyword.length() > 1) CardUtil.NON_STACKING_LIST.add(keyword);
        }
        CardStorageReader cards = new CardStorageReader(within(res, "cardsfolder"), null, true);
        CardStorageReader tokens = new CardStorageReader(within(res, "tokenscripts"), null, false);
        new StaticData(
            cards, tokens, null, null, within(res, "editions"), within(res, "no-editions"), within(res, "blockdata"),
            within(res, "setlookup"), "LATEST_ART_ALL_EDITIONS", true, true, false, false);
        AiProfileUtil.loadAllProfiles(within(res, "ai"));
    }

    private static String within(Path res, String folder) {
        return res.resolve(folder) + "/";
    }
}
