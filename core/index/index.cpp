#include "core/index/index.hpp"
#include <algorithm>
#include <fmt/format.h>
namespace bento {
struct Index::PerDataset { DatasetDeclaration decl; std::vector<Record> records; std::vector<Box> visible; std::vector<ExtentEvent> clips;
 Box vis(const Record& r) const { Box b=r.box; for(auto&e:clips) if(r.order.collective<e.collective) b=intersect(b,Box::whole(e.extent)); return b; } };
Index::Index()=default; Index::~Index()=default; Index::Index(Index&&) noexcept=default; Index& Index::operator=(Index&&) noexcept=default;
void Index::declare(const DatasetDeclaration& d){ auto p=std::make_unique<PerDataset>(); p->decl=d; datasets_[d.number]=std::move(p);} 
const DatasetDeclaration* Index::find(DatasetNumber n) const { auto i=datasets_.find(n); return i==datasets_.end()?nullptr:&i->second->decl; }
void Index::remove(DatasetNumber n){datasets_.erase(n);} 
Result<std::size_t> Index::add(const Record& r){ auto i=datasets_.find(r.dataset); if(i==datasets_.end()) return fail(Code::kCorrupt,"unknown dataset"); if(r.box.rank()!=i->second->decl.rank) return fail(Code::kCorrupt,"rank"); auto&p=*i->second; p.records.push_back(r); p.visible.push_back(p.vis(r)); return p.records.size()-1; }
void Index::replace(DatasetNumber n, std::size_t k, const Record& r){auto&p=*datasets_.at(n); p.records[k]=r; p.visible[k]=p.vis(r);} 
const Record& Index::record(DatasetNumber n, std::size_t k) const {return datasets_.at(n)->records[k];}
std::size_t Index::size(DatasetNumber n) const {auto i=datasets_.find(n); return i==datasets_.end()?0:i->second->records.size();}
void Index::erase_if(DatasetNumber n,const std::function<bool(const Record&)>& f){auto&p=*datasets_.at(n); std::vector<Record> k; for(auto&r:p.records) if(!f(r)) k.push_back(r); p.records=k; p.visible.clear(); for(auto&r:p.records)p.visible.push_back(p.vis(r));}
Status Index::clip(const ExtentEvent& e){auto i=datasets_.find(e.dataset); if(i==datasets_.end()) return fail(Code::kCorrupt,"unknown dataset"); auto&p=*i->second; p.clips.push_back(e); for(size_t k=0;k<p.records.size();++k)p.visible[k]=p.vis(p.records[k]); return {};}
Status Index::add(const Segment& s){ for(auto&d:s.datasets)declare(d); for(auto&d:s.deleted)remove(d); for(auto&e:s.extents) if(find(e.dataset)) BENTO_TRY(clip(e)); for(auto&r:s.records) if(find(r.dataset)) BENTO_TRY(add(r)); return {}; }
Result<Lookup> Index::find(DatasetNumber n,const Box& sel) const { Lookup l; auto i=datasets_.find(n); if(i==datasets_.end()) return fail(Code::kCorrupt,"unknown dataset"); auto&p=*i->second; std::vector<size_t> c; for(size_t k=0;k<p.records.size();++k) if(overlaps(p.visible[k],sel)) c.push_back(k); std::sort(c.begin(),c.end(),[&](size_t a,size_t b){return p.records[a].order>p.records[b].order;}); std::vector<Box> rem; if(!sel.empty()) rem.push_back(sel); for(size_t k:c){ std::vector<Box> next; for(auto&b:rem){ if(overlaps(b,p.visible[k])) l.pieces.push_back({k,intersect(b,p.visible[k])}); subtract(b,p.visible[k],next);} rem=next; if(rem.empty())break;} l.uncovered=rem; return l; }
std::uint64_t Index::stored_bytes(DatasetNumber n) const {std::uint64_t s=0; for(auto&r:datasets_.at(n)->records)s+=r.stored_bytes; return s;}
std::vector<DatasetNumber> Index::datasets() const {std::vector<DatasetNumber> v; for(auto&[k,p]:datasets_)v.push_back(k); return v;}
}
