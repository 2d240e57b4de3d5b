#include <cstdio>
#include <string>
#include "tinyxml2.h"

using namespace tinyxml2;

struct Counter : XMLVisitor {
    int elements = 0;
    bool VisitEnter(const XMLElement &, const XMLAttribute *) override { elements++; return true; }
};

int main()
{
    size_t sum = 0;
    std::string text = "<?xml version=\"1.0\"?>\n<shop>\n";
    for (int i = 0; i < 200; i++) {
        std::string n = std::to_string(i);
        text += "  <item id=\"" + n + "\" price=\"" + n + ".5\" name='a &amp; b' on=\"true\">\n    <title>Title &lt;" + n +
                "&gt; &#233;</title>\n    <!-- note " + n + " -->\n    <sub a=\"1\"><![CDATA[raw]]>  text  with   spaces </sub>\n  </item>\n";
    }
    text += "</shop>\n";
    for (int round = 0; round < 3; round++) {
        XMLDocument document(true, round == 1 ? COLLAPSE_WHITESPACE : PRESERVE_WHITESPACE);
        document.Parse(text.c_str(), text.size());
        XMLElement *shop = document.RootElement();
        for (XMLElement *item = shop->FirstChildElement("item"); item; item = item->NextSiblingElement("item")) {
            sum += item->IntAttribute("id") + (int)item->DoubleAttribute("price") + item->BoolAttribute("on");
            sum += std::string(item->FirstChildElement("title")->GetText()).size();
            item->SetAttribute("seen", round);
            if (item->IntAttribute("id") % 5 == 0)
                item->InsertNewChildElement("extra")->SetText("x < y & z");
            if (item->IntAttribute("id") % 9 == 0)
                item->DeleteAttribute("name");
        }
        XMLDocument copy;
        document.DeepCopy(&copy);
        Counter counter;
        copy.Accept(&counter);
        XMLPrinter printer(nullptr, round == 2);
        copy.Print(&printer);
        sum += counter.elements + printer.CStrSize() + shop->LastChild()->ShallowEqual(copy.RootElement()->LastChild());
    }
    std::printf("%zu\n", sum);
}
